// SPDX-License-Identifier: Apache-2.0
import ij.CompositeImage;
import ij.IJ;
import ij.ImagePlus;
import ij.ImageStack;
import ij.io.FileSaver;
import ij.measure.Calibration;
import ij.process.ByteProcessor;
import ij.process.ColorProcessor;
import ij.process.FloatProcessor;
import ij.process.ImageProcessor;
import ij.process.ShortProcessor;
import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Writes and reads files with ImageJ, many in one run. Samples are exchanged as raw little-endian files. */
class ImageJFiles {
    public static void main(String[] arguments) throws Exception {
        IJ.redirectErrorMessages();
        if (arguments[0].equals("version")) {
            System.out.println(IJ.getVersion());
            return;
        }
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            String[] fields = line.split("\t");
            try {
                if (arguments[0].equals("write")) {
                    write(fields);
                } else {
                    read(fields[0], fields[1]);
                }
            } catch (Exception | Error error) {
                System.out.println(fields[0] + "\terror\t" + error);
            }
        }
        System.exit(0);
    }

    /** Writes a file. Fields: output, raw file, type, width, height, channels, planes, times, options with commas. */
    private static void write(String[] fields) throws IOException {
        ByteBuffer samples = ByteBuffer.wrap(Files.readAllBytes(Path.of(fields[1])));
        samples.order(ByteOrder.LITTLE_ENDIAN);
        int[] sizes = new int[5];
        for (int i = 0; i < 5; ++i) sizes[i] = Integer.parseInt(fields[3 + i]);
        ImageStack stack = new ImageStack(sizes[0], sizes[1]);
        for (int i = 0; i < sizes[2] * sizes[3] * sizes[4]; ++i) {
            stack.addSlice(plane(samples, fields[2], sizes[0], sizes[1]));
        }
        ImagePlus image = new ImagePlus("specimen", stack);
        image.setDimensions(sizes[2], sizes[3], sizes[4]);
        image.setOpenAsHyperStack(sizes[2] * sizes[4] > 1);
        List<String> options = List.of(fields.length > 8 ? fields[8].split(",") : new String[0]);
        if (options.contains("composite")) image = new CompositeImage(image, CompositeImage.COMPOSITE);
        if (options.contains("um")) calibrate(image, 0.1, 0.104, 0.3, "um");
        if (options.contains("nm")) calibrate(image, 100, 100, 300, "nm");
        if (options.contains("micron")) calibrate(image, 0.1, 0.104, 0.3, "micron");
        if (options.contains("range")) image.setDisplayRange(100, 2000);
        if (options.contains("labels")) {
            for (int i = 1; i <= stack.getSize(); ++i) image.getStack().setSliceLabel("label " + i, i);
        }
        boolean done = options.contains("zip") ? new FileSaver(image).saveAsZip(fields[0])
            : stack.getSize() > 1 ? new FileSaver(image).saveAsTiffStack(fields[0]) : new FileSaver(image).saveAsTiff(fields[0]);
        if (!done) throw new IOException("ImageJ did not save the file");
    }

    private static void calibrate(ImagePlus image, double x, double y, double z, String unit) {
        Calibration calibration = image.getCalibration();
        calibration.pixelWidth = x;
        calibration.pixelHeight = y;
        calibration.pixelDepth = z;
        calibration.setUnit(unit);
        if (image.getNFrames() > 1) calibration.frameInterval = 2.5;
    }

    private static ImageProcessor plane(ByteBuffer samples, String type, int width, int height) {
        int count = width * height;
        if (type.equals("uint8")) {
            byte[] pixels = new byte[count];
            samples.get(pixels);
            return new ByteProcessor(width, height, pixels);
        }
        if (type.equals("uint16")) {
            short[] pixels = new short[count];
            for (int i = 0; i < count; ++i) pixels[i] = samples.getShort();
            return new ShortProcessor(width, height, pixels, null);
        }
        if (type.equals("rgb")) {
            int[] pixels = new int[count];
            for (int i = 0; i < count; ++i) {
                pixels[i] = (samples.get() & 255) << 16 | (samples.get() & 255) << 8 | samples.get() & 255;
            }
            return new ColorProcessor(width, height, pixels);
        }
        float[] pixels = new float[count];
        for (int i = 0; i < count; ++i) pixels[i] = samples.getFloat();
        return new FloatProcessor(width, height, pixels);
    }

    /** Prints file, bits, width, height, channels, planes, times, voxel x, y, z, unit, interval, labels. */
    private static void read(String file, String raw) throws IOException {
        IJ.log("\\Clear");
        ImagePlus image = IJ.openImage(file);
        if (image == null) {
            System.out.println(file + "\terror\tImageJ does not open it");
            return;
        }
        ImageStack stack = image.getStack();
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(raw))))) {
            for (int i = 1; i <= stack.getSize(); ++i) {
                Object pixels = stack.getProcessor(i).getPixels();
                if (pixels instanceof byte[]) {
                    out.write((byte[]) pixels);
                } else if (pixels instanceof short[]) {
                    for (short sample : (short[]) pixels) out.writeShort(sample);
                } else if (pixels instanceof int[]) {
                    for (int sample : (int[]) pixels) out.writeInt(sample);
                } else {
                    for (float sample : (float[]) pixels) out.writeFloat(sample);
                }
            }
        }
        Calibration calibration = image.getCalibration();
        StringBuilder labels = new StringBuilder();
        for (int c = 1; c <= image.getNChannels(); ++c) {
            String label = stack.getSliceLabel(image.getStackIndex(c, 1, 1));
            labels.append(c > 1 ? "|" : "").append(label == null ? "" : label.replaceAll("[\\t\\r\\n].*", ""));
        }
        // ImageJ holds samples of int16 with an offset of 32768.
        String bits = image.getBitDepth() + (calibration.isSigned16Bit() ? "s" : "");
        System.out.println(String.join("\t", file, "read", bits, "" + image.getWidth(),
            "" + image.getHeight(), "" + image.getNChannels(), "" + image.getNSlices(), "" + image.getNFrames(),
            "" + calibration.pixelWidth, "" + calibration.pixelHeight, "" + calibration.pixelDepth,
            calibration.getUnit(), "" + calibration.frameInterval, labels.toString()));
    }
}
